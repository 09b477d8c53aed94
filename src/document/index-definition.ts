/**
 * What an index is about: its components, each a path into the item and a direction.
 *
 * Paths are stored as text, `/address/"street name"/?` or `/tags/[]/?`. A name that is not made of letters, digits and
 * `_` is written as a JSON string, so that every name, also one with a slash, a quote or a lone surrogate, comes back as
 * it was. (Quoted names in the policies of users have no escapes; that syntax stays at the edge.)
 */

import { assert } from '../base/error.ts'

/** The step to each element of the array that stands there; no property name can equal it. */
export const anyElement: unique symbol = Symbol('[]')

export type IndexPath = readonly (string | typeof anyElement)[]

export interface IndexComponent {
  readonly path: IndexPath
  readonly isDescending: boolean
}

export interface IndexDefinition {
  /** Distinguishes the index from the others of its container. */
  readonly number: number
  /** One, or several without any `anyElement`. */
  readonly components: readonly IndexComponent[]
}

const plainName = /^\w+$/
/** One step; the alternatives begin differently and none contains a repeated choice, so that matching is linear. */
const stepPattern = /\/(?:(?<array>\[\])|(?<quoted>"(?:[^"\\]|\\.)*")|(?<plain>[\w\u0080-\uffff]+))/y

export function printIndexPath(path: IndexPath): string {
  const steps = path.map(step => {
    if (step === anyElement) return '[]'
    return plainName.test(step) ? step : JSON.stringify(step)
  })
  return `/${[...steps, '?'].join('/')}`
}

/** Reads what `printIndexPath` wrote, and names beyond ASCII without quotes. Other text never got into the store. */
export function parseIndexPath(text: string): IndexPath {
  const path: (string | typeof anyElement)[] = []
  const pattern = new RegExp(stepPattern)
  let at = 0
  for (let step = pattern.exec(text); step !== null; step = pattern.exec(text)) {
    const { array, quoted, plain } = step.groups!
    if (array !== undefined) path.push(anyElement)
    else path.push(quoted !== undefined ? unquoted(quoted) : plain!)
    at = pattern.lastIndex
  }
  assert(path.length > 0 && text.slice(at) === '/?', `the text of an index path is valid: ${text}`)
  return path
}
