/** Reads the JSON of a form: the value, or what is wrong with it and where. */

export function readJson(text: string): { value?: unknown; problem?: string } {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    return { problem: `This is not JSON${placeOf(error, text)}.` }
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return { problem: 'Write one JSON object: {…}.' }
  return { value }
}

/** Browsers tell the place of a mistake in different words. */
function placeOf(error: unknown, text: string): string {
  const message = error instanceof Error ? error.message : ''
  const line = /line (\d+)/.exec(message)?.[1]
  const position = /position (\d+)/.exec(message)?.[1]
  if (line) return `: look at line ${line}`
  if (position) return `: look at line ${text.slice(0, Number(position)).split('\n').length}`
  return /end/i.test(message) ? ': it ends too early' : ''
}
