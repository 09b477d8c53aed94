/**
 * A text in memory of its own and in one piece.
 *
 * What was cut out of a larger text holds on to all of it, which matters to those who keep it. What was put
 * together stays a tree of its parts until somebody looks at it, and whatever it is a part of walks that tree
 * again, which matters to those who use it often.
 */
export function ownText(text: string): string {
  return Buffer.from(text).toString()
}
