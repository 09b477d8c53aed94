/** Runs the steps of the story and prints the outcome of each as a JSON line. A failure does not end it. */

function print(outcome: { step: string; ok?: boolean; why?: string; absent?: string }): void {
  process.stdout.write(`${JSON.stringify(outcome)}\n`)
}

export async function step(name: string, run: () => Promise<void>): Promise<void> {
  try {
    await run()
    print({ step: name, ok: true })
  } catch (error) {
    const { code, message } = error as { code?: unknown; message?: string }
    print({ step: name, ok: false, why: code === undefined ? String(message) : `${code}: ${message}` })
  }
}

/** The client has no call for this step. */
export function absent(name: string, why: string): void {
  print({ step: name, absent: why })
}

/** The code that the server refuses a call with. */
export function refusal(call: Promise<unknown>): Promise<unknown> {
  return call.then(
    () => undefined,
    error => error.code,
  )
}

/** Moves the clock of Mayfly, which stands still otherwise. */
export async function advanceClock(duration: string): Promise<void> {
  const headers = { 'content-type': 'application/json' }
  const body = JSON.stringify({ advance: duration })
  const answer = await fetch(new URL('/_mayfly/clock', process.env.MAYFLY_ENDPOINT), { method: 'POST', headers, body })
  if (answer.status !== 200) throw new Error(`the clock answered ${answer.status}`)
}
