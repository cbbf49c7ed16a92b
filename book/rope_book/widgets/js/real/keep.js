// Downloads, stores and removes the model's file in this browser at the user's request.

const SHELF = "smollm2";
const PLACE = "model.gguf"; // the cache key, wherever the file comes from

/** The stored file, or undefined. The cache is available only on pages served from https or localhost. @returns {Promise<Blob | undefined>} */
export async function kept() {
  const answer = await globalThis.caches?.match(PLACE, { cacheName: SHELF });
  return answer?.blob();
}

/** Store a file, and return whether this succeeded. @type {(file: Blob) => Promise<boolean>} */
export async function keep(file) {
  try {
    await (await caches.open(SHELF)).put(PLACE, new Response(file));
    return true;
  } catch {
    return false; // the disk is full, or the cache is unavailable
  }
}

export const forget = () => caches.delete(SHELF);

/** Download a file, calling `told` with the number of bytes received so far. @type {(address: string, told: (bytes: number) => void) => Promise<Blob>} */
export async function fetched(address, told) {
  const answer = await fetch(address);
  if (!answer.ok || !answer.body)
    throw new Error(`The model is not at its address (${answer.status}). Choose its file on this device.`);
  const [reader, parts] = [answer.body.getReader(), /** @type {Uint8Array<ArrayBuffer>[]} */ ([])];
  let bytes = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return new Blob(parts);
    parts.push(value);
    bytes += value.length;
    told(bytes);
  }
}
