/**
 * Copies a string into flat memory of its own.
 *
 * In V8 a substring keeps the whole original string in memory: copy one that is kept for long. A
 * concatenation stays a tree of its parts (a rope) until it is flattened: copy one that is used often. Lone
 * surrogates become U+FFFD.
 */
export function ownText(text: string): string {
  return Buffer.from(text).toString()
}
