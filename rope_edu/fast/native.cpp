// Turn pairs of features, row by row: every number is read once and written once.
//
//     first' = cos · first − sin · second        second' = cos · second + sin · first
//
// native.py compiles this file for the processor at hand and calls rotate_…, one for each kind of number.

#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#if defined(__AVX__)
#include <immintrin.h>
#endif

using Integer = std::int64_t;

// What a call is about, in the order in which native.py writes it. Strides count numbers in x and out, pairs in turns.
struct Plan {
  Integer seq, head_dim, pairs;
  Integer half_split, back;           // the layout; turn by −θ
  Integer block;                      // rows to rotate before the next head's: as many as leave their turns in the cache
  Integer in_place, stream, threads;  // stream: write past the cache
  Integer shared;                     // how many rows have the same turns
  Integer x_seq, out_seq, turn_seq;   // strides from token to token
  Integer axes;                       // how many others there are: batch, heads
  struct { Integer size, x, out, turn; } axis[8];
};

// Kinds of numbers: Stored as they come, Wide as turns are kept.

template <typename To, typename From>
static inline To as_bits(From value) {  // the same bits, read as something else
  static_assert(sizeof(To) == sizeof(From), "bits are neither lost nor made");
  To bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

template <typename T>
struct Plain {
  using Stored = T;
  using Wide = T;
  static constexpr bool rounds = false;
};

// The nearest number with `digits` binary digits, and none below `least`; ties go to the even one. Take a number so large
// that a sum with it ends where those digits end; add it, and take it off again.
template <int digits>
static inline double nearest(double number, double least) {
  double power = as_bits<double>(as_bits<std::uint64_t>(number) & 0x7FF0000000000000);  // of two, not above |number|
  power = power < least ? least : power < 0x1p900 ? power : 0x1p900;
  const double large = power * (1.5 * (std::uint64_t{1} << (53 - digits)));
  return (number + large) - large;
}

struct BFloat16 {  // the upper half of a float
  using Stored = std::uint16_t;
  using Wide = double;
  static constexpr bool rounds = true;
  static float widen(std::uint32_t upper) { return as_bits<float>(upper << 16); }
  // For a float that is not half-way.
  static std::uint32_t narrow(float number) { return (as_bits<std::uint32_t>(number) + 0x8000) >> 16; }
  static std::uint32_t round(double number) { return narrow(static_cast<float>(nearest<8>(number, 0x1p-126))); }
};

struct Float16 {  // a float whose exponent counts from 112 lower, and which lacks 13 bits
  using Stored = std::uint16_t;
  using Wide = double;
  static constexpr bool rounds = true;
  static float widen(std::uint32_t half) {
    const std::uint32_t magnitude = half & 0x7FFF, sign = (half & 0x8000) << 16;
    const std::uint32_t finite = as_bits<std::uint32_t>(as_bits<float>(magnitude << 13) * 0x1p112f);
    return as_bits<float>(sign | (magnitude < 0x7C00 ? finite : magnitude << 13 | 0x7F800000));
  }
  static std::uint32_t narrow(float number) {
    const std::uint32_t bits = as_bits<std::uint32_t>(number), magnitude = bits & 0x7FFFFFFF;
    std::uint32_t half = (as_bits<std::uint32_t>(as_bits<float>(magnitude) * 0x1p-112f) + 0x1000) >> 13;
    half = magnitude > 0x7F800000 ? 0x7E00 : half < 0x7C00 ? half : 0x7C00;  // no number; too large
    return half | (bits >> 16 & 0x8000);
  }
  static std::uint32_t round(double number) { return narrow(static_cast<float>(nearest<11>(number, 0x1p-14))); }
};

// Two numbers of 16 bits side by side, the first in the lower half.

static inline std::uint32_t read_two(const std::uint16_t *from) {
  std::uint32_t two;
  std::memcpy(&two, from, sizeof two);
  return two;
}

static inline void write_two(std::uint16_t *to, std::uint32_t first, std::uint32_t second) {
  const std::uint32_t two = first | second << 16;
  std::memcpy(to, &two, sizeof two);
}

// Where the members of pair i lie in a row, and its cos and sin among the turns.

struct Interleaved {
  static constexpr Integer apart = 2;  // from one cos to the next
  static Integer first(Integer i, Integer) { return 2 * i; }
  static Integer second(Integer i, Integer) { return 2 * i + 1; }
  template <typename Wide>
  static Wide cos(const Wide *turns, const Wide *, Integer i) { return turns[2 * i]; }
  template <typename Wide>
  static Wide sin(const Wide *turns, const Wide *, Integer i) { return turns[2 * i + 1]; }
  // Both members of 16 bits at once: compilers then know what to do with the rest.
  static void read(const std::uint16_t *x, Integer i, Integer, std::uint32_t &first, std::uint32_t &second) {
    const std::uint32_t both = read_two(x + 2 * i);
    first = both & 0xFFFF;
    second = both >> 16;
  }
  static void write(std::uint16_t *row, Integer i, Integer, std::uint32_t first, std::uint32_t second) {
    write_two(row + 2 * i, first, second);
  }
};

struct HalfSplit {
  static constexpr Integer apart = 1;
  static Integer first(Integer i, Integer) { return i; }
  static Integer second(Integer i, Integer pairs) { return i + pairs; }
  template <typename Wide>
  static Wide cos(const Wide *cosines, const Wide *, Integer i) { return cosines[i]; }
  template <typename Wide>
  static Wide sin(const Wide *, const Wide *sines, Integer i) { return sines[i]; }
  static void read(const std::uint16_t *x, Integer i, Integer pairs, std::uint32_t &first, std::uint32_t &second) {
    first = x[i];
    second = x[i + pairs];
  }
  static void write(std::uint16_t *row, Integer i, Integer pairs, std::uint32_t first, std::uint32_t second) {
    row[i] = static_cast<std::uint16_t>(first);
    row[i + pairs] = static_cast<std::uint16_t>(second);
  }
};

// The pairs of a row, turned by +θ or, where `sign` is −1, by −θ. `row` may be `x`: no pair waits for another.
template <typename Layout, int sign, typename Wide>
static inline void turn(const Wide *x, const Wide *cosines, const Wide *sines, Wide *row, Integer pairs) {
#pragma GCC ivdep
  for (Integer i = 0; i < pairs; i++) {
    const Integer a = Layout::first(i, pairs), b = Layout::second(i, pairs);
    const Wide cos = Layout::cos(cosines, sines, i), sin = sign * Layout::sin(cosines, sines, i);
    const Wide first = x[a], second = x[b];
    row[a] = cos * first - sin * second;
    row[b] = cos * second + sin * first;
  }
}

// The same for 16 bits: in double, and rounded once.
template <typename Kind, typename Layout, int sign>
static inline void turn_exactly(const std::uint16_t *__restrict x, const double *__restrict cosines,
                                const double *__restrict sines, std::uint16_t *__restrict row, Integer pairs) {
  for (Integer i = 0; i < pairs; i++) {
    std::uint32_t a, b;
    Layout::read(x, i, pairs, a, b);
    const double first = Kind::widen(a), second = Kind::widen(b);
    const double cos = Layout::cos(cosines, sines, i), sin = sign * Layout::sin(cosines, sines, i);
    Layout::write(row, i, pairs, Kind::round(cos * first - sin * second), Kind::round(cos * second + sin * first));
  }
}

// The same in float, which is faster. It loses less than 2⁻²² a (|first| + |second|), a being the largest cos or sin: 2⁻²⁴
// each for the turn, a product, the sum, and the end of the interval below. Where both ends of that interval round to one
// number, so does the exact result, save near the smallest numbers, where a float loses more.
template <typename Kind>
struct InFloat {
  float loss;                // 2⁻²² a
  std::uint32_t unsure = 0;  // not 0 once a pair was not sure: in one row of ten

  void turn(std::uint32_t &a, std::uint32_t &b, float cos, float sin) {
    const float first = Kind::widen(a), second = Kind::widen(b);
    const float size = std::fabs(first) + std::fabs(second), lost = loss * size;
    const float turned_first = cos * first - sin * second, turned_second = cos * second + sin * first;
    a = Kind::narrow(turned_first - lost);
    b = Kind::narrow(turned_second - lost);
    unsure |= a ^ Kind::narrow(turned_first + lost);
    unsure |= b ^ Kind::narrow(turned_second + lost);
    unsure |= as_bits<std::uint32_t>(size) - 1 < as_bits<std::uint32_t>(0x1p-100f);  // 0 is sure
  }
};

// A row in float; tell whether all its pairs are sure. Numbers are read two at a time: both members of a pair, or the first
// members of two pairs that are neighbours and then their second ones. Turns are first those of even pairs, then of odd ones.
template <typename Kind, typename Layout, int sign>
static inline bool turn_in_float(const std::uint16_t *__restrict x, const float *__restrict cosines,
                                 const float *__restrict sines, std::uint16_t *__restrict row, Integer pairs, float loss) {
  InFloat<Kind> pair{loss};
  if constexpr (std::is_same_v<Layout, Interleaved>) {
    for (Integer i = 0; i < pairs; i++) {
      std::uint32_t both = read_two(x + 2 * i), a = both & 0xFFFF, b = both >> 16;
      pair.turn(a, b, cosines[i], sign * sines[i]);
      write_two(row + 2 * i, a, b);
    }
  } else {
    const Integer half = pairs / 2;
    for (Integer i = 0; i < half; i++) {
      std::uint32_t firsts = read_two(x + 2 * i), seconds = read_two(x + pairs + 2 * i);
      std::uint32_t even_a = firsts & 0xFFFF, odd_a = firsts >> 16, even_b = seconds & 0xFFFF, odd_b = seconds >> 16;
      pair.turn(even_a, even_b, cosines[i], sign * sines[i]);
      pair.turn(odd_a, odd_b, cosines[half + i], sign * sines[half + i]);
      write_two(row + 2 * i, even_a, odd_a);
      write_two(row + pairs + 2 * i, even_b, odd_b);
    }
  }
  return pair.unsure == 0;
}

constexpr Integer LINE = 64, AHEAD = 8;  // bytes that memory moves at once; rows to ask for before they are needed

// Ask memory for numbers that will be read soon; where there are none, nothing happens.
template <typename T>
static inline void ask_for(const T *numbers, Integer count) {
#if defined(__GNUC__)
  for (Integer i = 0; i < count; i += LINE / static_cast<Integer>(sizeof(T))) __builtin_prefetch(numbers + i);
#endif
}

// Writes past the cache, without first reading what stands there: whole lines; what does not fill one waits for the next
// row, if that is its neighbour.
class Stream {
 public:
  explicit Stream(Integer bytes) : room(bytes ? bytes + 2 * LINE : 0), held(room.data() + before_a_line(room.data())) {}
  Stream(const Stream &) = delete;
  ~Stream() {
    flush();
#if defined(__AVX__)
    _mm_sfence();
#endif
  }

  // Where to make the row that goes to `to`.
  char *place_for(char *to) {
    if (line + until != to) {
      flush();
      from = until = (LINE - before_a_line(to)) % LINE;
      line = to - from;
    }
    return held + until;
  }

  // The row is made.
  void write(Integer bytes) {
    until += bytes;
    Integer at = 0;
    if (from > 0 && until >= LINE) {
      std::memcpy(line + from, held + from, LINE - from);
      from = 0;
      at = LINE;
    }
    for (; at + LINE <= until; at += LINE) write_line(line + at, held + at);
    if (at == 0) return;
    until -= at;
    line += at;
    std::memcpy(held, held + at, until);
  }

 private:
  static Integer before_a_line(const char *address) { return -reinterpret_cast<std::intptr_t>(address) & (LINE - 1); }

  static void write_line(char *to, const char *numbers) {
#if defined(__AVX512F__)
    _mm512_stream_si512(reinterpret_cast<__m512i *>(to), _mm512_load_si512(numbers));
#elif defined(__AVX__)
    for (Integer half = 0; half < LINE; half += 32)
      _mm256_stream_si256(reinterpret_cast<__m256i *>(to + half),
                          _mm256_load_si256(reinterpret_cast<const __m256i *>(numbers + half)));
#else
    std::memcpy(to, numbers, LINE);
#endif
  }

  void flush() {
    if (until > from) std::memcpy(line + from, held + from, until - from);
  }

  std::vector<char> room;
  char *held, *line = nullptr;    // what is held goes to where `line` begins, save the bytes before `from`
  Integer from = 0, until = 0;
};

// What one thread holds: a row on its way, where that cannot be made in its place; for 16 bits the turns of a block in float.
template <typename Kind, typename Layout, int sign>
class Worker {
 public:
  explicit Worker(const Plan &plan)
      : plan(plan),
        by_way_of_row(plan.in_place && Kind::rounds),
        in_float(often_sure && plan.shared >= 2 && (!plan.half_split || plan.pairs % 2 == 0)),
        row(by_way_of_row ? plan.head_dim : 0),
        stream(plan.stream ? plan.head_dim * size : 0),
        narrow(in_float ? 2 * plan.pairs * plan.block : 0) {}

  // Rotate the rows of a block of one head. Turns that are those of the call before are not made float again.
  void rotate(const typename Kind::Stored *x, const typename Kind::Wide *cosines, const typename Kind::Wide *sines,
              typename Kind::Stored *out, Integer rows) {
    const Integer rotated = 2 * plan.pairs;
    if constexpr (Kind::rounds)
      if (in_float && (cosines != known || rows > known_rows)) make_narrow(cosines, sines, rows);
    for (Integer r = 0; r < rows; r++, x += plan.x_seq, out += plan.out_seq) {
      if (r + AHEAD < rows) ask_for(x + AHEAD * plan.x_seq, plan.head_dim);
      auto *target = by_way_of_row ? row.data() : out;
      if (plan.stream)
        target = reinterpret_cast<typename Kind::Stored *>(stream.place_for(reinterpret_cast<char *>(out)));
      const Integer at = r * plan.turn_seq * Layout::apart;
      turn_row(x, cosines + at, sines + at, plan.turn_seq ? r : 0, target);
      if (rotated < plan.head_dim && target != x)
        std::memcpy(target + rotated, x + rotated, (plan.head_dim - rotated) * size);
      if (plan.stream) stream.write(plan.head_dim * size);
      if (by_way_of_row) std::memcpy(out, target, plan.head_dim * size);
    }
  }

 private:
  static constexpr Integer size = sizeof(typename Kind::Stored);
  static constexpr bool often_sure = std::is_same_v<Kind, BFloat16>;  // Float16 has three bits more to be unsure of

  void turn_row(const typename Kind::Stored *x, const typename Kind::Wide *cosines, const typename Kind::Wide *sines,
                Integer r, typename Kind::Stored *target) {
    if constexpr (!Kind::rounds) {
      turn<Layout, sign>(x, cosines, sines, target, plan.pairs);
    } else {
      const float *cos = narrow.data() + 2 * plan.pairs * r, *sin = cos + plan.pairs;
      if (!in_float || !turn_in_float<Kind, Layout, sign>(x, cos, sin, target, plan.pairs, loss))
        turn_exactly<Kind, Layout, sign>(x, cosines, sines, target, plan.pairs);
    }
  }

  // Cos and sin of each row, one after the other, in float.
  void make_narrow(const double *cosines, const double *sines, Integer rows) {
    known = cosines;
    known_rows = rows;
    std::uint32_t largest = as_bits<std::uint32_t>(0x1p-20f);  // less would lose itself among the smallest numbers
    for (Integer r = 0; r < (plan.turn_seq ? rows : 1); r++) {
      float *cos = narrow.data() + 2 * plan.pairs * r, *sin = cos + plan.pairs;
      const Integer from = r * plan.turn_seq * Layout::apart, ahead = from + AHEAD * plan.turn_seq * Layout::apart;
      ask_for(cosines + ahead, plan.pairs * Layout::apart);
      if (plan.half_split) ask_for(sines + ahead, plan.pairs);
      const Integer step = plan.half_split ? 2 : 1, part = plan.pairs / step;
      for (Integer odd = 0; odd < step; odd++)
        for (Integer i = 0; i < part; i++) {
          cos[odd * part + i] = static_cast<float>(Layout::cos(cosines + from, sines + from, step * i + odd));
          sin[odd * part + i] = static_cast<float>(Layout::sin(cosines + from, sines + from, step * i + odd));
        }
      for (Integer i = 0; i < 2 * plan.pairs; i++) {
        const std::uint32_t size = as_bits<std::uint32_t>(cos[i]) & 0x7FFFFFFF;
        largest = largest < size ? size : largest;
      }
    }
    loss = 0x1p-22f * as_bits<float>(largest);
  }

  const Plan &plan;
  const bool by_way_of_row;
  const bool in_float;  // not worth it if few rows share the turns
  std::vector<typename Kind::Stored> row;
  Stream stream;
  std::vector<float> narrow;
  const typename Kind::Wide *known = nullptr;
  Integer known_rows = 0;
  float loss = 0;
};

// The pieces from … to − 1 of the work. A piece is a block of tokens of one head; all heads have a block, while its turns
// are in the cache, before the next.
template <typename Kind, typename Layout, int sign>
static void rotate_pieces(const Plan &plan, const typename Kind::Stored *x, const typename Kind::Wide *cosines,
                          const typename Kind::Wide *sines, typename Kind::Stored *out, Integer around, Integer from,
                          Integer to) {
  Worker<Kind, Layout, sign> worker(plan);
  for (Integer piece = from; piece < to; piece++) {
    const Integer token = piece / around * plan.block, left = plan.seq - token;
    Integer x_at = token * plan.x_seq, out_at = token * plan.out_seq, turn_at = token * plan.turn_seq;
    Integer rest = piece % around;
    for (Integer a = plan.axes - 1; a >= 0; a--) {
      const Integer index = rest % plan.axis[a].size;
      rest /= plan.axis[a].size;
      x_at += index * plan.axis[a].x;
      out_at += index * plan.axis[a].out;
      turn_at += index * plan.axis[a].turn;
    }
    turn_at *= Layout::apart;
    worker.rotate(x + x_at, cosines + turn_at, sines + turn_at, out + out_at, left < plan.block ? left : plan.block);
  }
}

template <typename Kind, typename Layout, int sign>
static void rotate_all(const Plan &plan, const typename Kind::Stored *x, const typename Kind::Wide *cosines,
                       const typename Kind::Wide *sines, typename Kind::Stored *out) {
  Integer around = 1;
  for (Integer a = 0; a < plan.axes; a++) around *= plan.axis[a].size;
  const Integer pieces = (plan.seq + plan.block - 1) / plan.block * around, threads = plan.threads;
  if (threads == 1) return rotate_pieces<Kind, Layout, sign>(plan, x, cosines, sines, out, around, 0, pieces);
#pragma omp parallel for num_threads(static_cast<int>(threads)) schedule(static, 1)
  for (Integer t = 0; t < threads; t++)
    rotate_pieces<Kind, Layout, sign>(plan, x, cosines, sines, out, around, pieces * t / threads,
                                      pieces * (t + 1) / threads);
}

// Choose the code for a layout and a sense of turning. Interleaved turns are (cos, sin) by turns, and `sines` is not read.
template <typename Kind>
static void rotate(const Plan &plan, const void *x, const void *turns, const void *sines, void *out) {
  using Wide = typename Kind::Wide;
  const auto *cosines = static_cast<const Wide *>(turns);
  const auto *others = plan.half_split ? static_cast<const Wide *>(sines) : cosines + 1;
  const auto all = plan.half_split ? (plan.back ? rotate_all<Kind, HalfSplit, -1> : rotate_all<Kind, HalfSplit, 1>)
                                   : (plan.back ? rotate_all<Kind, Interleaved, -1> : rotate_all<Kind, Interleaved, 1>);
  all(plan, static_cast<const typename Kind::Stored *>(x), cosines, others, static_cast<typename Kind::Stored *>(out));
}

#define EXPORT(NAME, KIND)                                                                                            \
  extern "C" void rotate_##NAME(const Plan *plan, const void *x, const void *turns, const void *sines, void *out) {   \
    rotate<KIND>(*plan, x, turns, sines, out);                                                                        \
  }

EXPORT(float32, Plain<float>)
EXPORT(float64, Plain<double>)
EXPORT(bfloat16, BFloat16)
EXPORT(float16, Float16)
