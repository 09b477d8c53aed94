/** A child process that answers one message at a time. */

import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'

export class Child<Question extends object, Answer extends object> implements AsyncDisposable {
  readonly #process: ChildProcess

  /** `file` is the name of a file in this folder. */
  constructor(file: string) {
    this.#process = fork(join(import.meta.dirname, file))
  }

  async ask(question: Question): Promise<Exclude<Answer, { readonly error: string }>> {
    const { promise, resolve, reject } = Promise.withResolvers<Answer>()
    const onExit = () => reject(new Error('A process of the benchmark ended.'))
    this.#process.once('message', resolve as (answer: unknown) => void)
    this.#process.once('exit', onExit)
    this.#process.send(question)
    try {
      const answer = await promise
      if ('error' in answer) throw new Error(String(answer.error))
      return answer as Exclude<Answer, { readonly error: string }>
    } finally {
      this.#process.off('message', resolve as (answer: unknown) => void)
      this.#process.off('exit', onExit)
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#process.exitCode !== null) return
    const exited = once(this.#process, 'exit')
    this.#process.kill('SIGKILL')
    await exited
  }
}
