/**
 * Describes a thrown value, whatever it is.
 *
 * This function is sent to the sandbox as text. It may refer only to its parameters and to the language's
 * built-ins.
 */

export interface ThrownError {
  readonly text: string
  readonly stack: string
  readonly number?: number
}

export function describeError(error: unknown): string {
  const charsMax = 8192
  const described = { text: 'an error that has no text', stack: '', number: undefined as number | undefined }
  try {
    described.text = String(error)
    if (typeof error === 'object' && error !== null) {
      const { stack, number } = error as { stack?: unknown; number?: unknown }
      if (typeof stack === 'string') described.stack = stack
      if (typeof number === 'number') described.number = number
    }
  } catch {
    // Even `toString` and the property getters may throw.
  }
  const { text, stack, number } = described
  return JSON.stringify({ text: text.slice(0, charsMax), stack: stack.slice(0, charsMax), number })
}
