/**
 * The globals of a stored procedure or trigger, and the three functions that the thread calls.
 *
 * This function is sent to the sandbox as text. It may refer only to its parameters and to the language's
 * built-ins.
 */

import type { Complete, createCollection, Links } from './collection.ts'
import type { defineEnvironment, GuestHost } from './environment.ts'
import type { createMessage, Message, MessageProperty } from './message.ts'
import type { defineQueries } from './query-chain.ts'
import type { describeError } from './thrown-error.ts'

export interface GuestMessage {
  /** JSON text. */
  readonly body: string | undefined
  readonly isBodyWritable: boolean
  readonly values: Readonly<Record<string, string>>
}

export interface GuestSettings {
  readonly links: Links
  readonly epochMs: number
  readonly responseCharsMax: number
  /** JSON text of the array of arguments. */
  readonly args: string
  readonly request: GuestMessage
  /** Undefined for a pre-trigger. */
  readonly response: GuestMessage | undefined
}

/** Each returns undefined, or the JSON text of a `ThrownError`. */
export interface GuestScript {
  start(make: () => unknown): string | undefined
  answer(body: string | undefined, options: string, error: string | undefined): string | undefined
  /** A JSON text that holds the JSON texts of both bodies, or an error. */
  outcome(): string
}

export interface GuestOutcome {
  readonly request: string | undefined
  readonly response: string | undefined
}

export interface GuestParts {
  readonly defineEnvironment: typeof defineEnvironment
  readonly createMessage: typeof createMessage
  readonly createCollection: typeof createCollection
  readonly defineQueries: typeof defineQueries
  readonly describeError: typeof describeError
}

export function createScript(host: GuestHost, settingsText: string, parts: GuestParts): GuestScript {
  const settings: GuestSettings = JSON.parse(settingsText)
  parts.defineEnvironment(host, settings.epochMs)

  const properties = ({ body, isBodyWritable, values }: GuestMessage): [string, MessageProperty][] => [
    ...Object.entries(values).map(([name, value]): [string, MessageProperty] => [name, { value, isWritable: false }]),
    ['Body', { value: body === undefined ? undefined : JSON.parse(body), isWritable: isBodyWritable }],
  ]
  const request = parts.createMessage(properties(settings.request), settings.responseCharsMax)
  const response =
    settings.response === undefined
      ? undefined
      : parts.createMessage(properties(settings.response), settings.responseCharsMax)

  const waiting: Complete[] = []
  const tools = parts.createCollection(host, settings.links, waiting)
  parts.defineQueries(tools, response === undefined ? undefined : () => response)

  const context: Record<string, unknown> = {
    getCollection: () => tools.collection,
    getRequest: () => request,
    abort: (error: unknown) => {
      aborted ??= { error }
      host.abort()
      throw error
    },
  }
  if (response !== undefined) context.getResponse = () => response
  let aborted: { readonly error: unknown } | undefined

  const shortcut = Object.assign(
    Object.create(tools.collection),
    { request },
    response === undefined ? {} : { response },
  )
  const log = (...values: unknown[]): void => {
    const [format, ...rest] = values
    if (typeof format !== 'string' || rest.length === 0) host.log(JSON.stringify(values.map(String).join(' ')))
    else host.log(JSON.stringify(format.replace(/%(%|s)/g, (_, sign) => (sign === '%' ? '%' : String(rest.shift())))))
  }
  const errorCodes = {
    BadRequest: 400,
    Forbidden: 403,
    NotFound: 404,
    Conflict: 409,
    PreconditionFailed: 412,
    RequestEntityTooLarge: 413,
    RetryWith: 449,
    InternalServerError: 500,
  }
  Object.assign(globalThis, {
    getContext: () => context,
    __: shortcut,
    console: { log },
    ErrorCodes: Object.freeze(errorCodes),
  })

  const enter = (work: () => void): string | undefined => {
    try {
      work()
    } catch (error) {
      return parts.describeError(aborted === undefined ? error : aborted.error)
    }
    return aborted === undefined ? undefined : parts.describeError(aborted.error)
  }

  const bodyText = (message: Message | undefined, name: string): string | undefined => {
    const value = message?.getBody?.()
    const text = value === undefined ? undefined : JSON.stringify(value)
    // Objects may have grown since they were set, and escapes make texts longer.
    if (text !== undefined && text.length > 2 * settings.responseCharsMax) {
      throw tools.fail(413, `Resulting message would be too large because of "${name}".`)
    }
    return text
  }

  return {
    start: make =>
      enter(() => {
        const main = make()
        if (typeof main !== 'function') throw new TypeError('The body of the script is not a function.')
        main(...JSON.parse(settings.args))
      }),
    answer: (body, options, refusal) =>
      enter(() => {
        const complete = waiting.shift()!
        if (refusal === undefined) return complete(undefined, body, JSON.parse(options))
        const { number, body: text } = JSON.parse(refusal)
        complete(Object.assign(tools.fail(number, text), { body: text }))
      }),
    outcome: () => {
      let outcome: GuestOutcome = { request: undefined, response: undefined }
      const failure = enter(() => {
        outcome = {
          request: settings.request.isBodyWritable ? bodyText(request, 'Body') : undefined,
          response: bodyText(response, 'Body'),
        }
      })
      return failure ?? JSON.stringify(outcome)
    },
  }
}
