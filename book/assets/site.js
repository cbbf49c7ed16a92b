// Repairs of the theme for screen readers and keyboards.
