/**
 * Parses an item from the bytes of a request. All of it is checked, but only the needed members become
 * values.
 */

import { RequestError } from '../../base/error.ts'
import { itemBytesMax } from '../../base/limits.ts'
import type { ContainerView } from '../http/container-view.ts'
import { FoundTexts, Names, scanObject } from '../json/json-bytes.ts'
import { type ItemBody, readItemText, systemProperties } from './item-body.ts'

const names = new WeakMap<ContainerView, Names>()

/** The members of an item that the container needs. */
export function namesIn(view: ContainerView): Names {
  let found = names.get(view)
  if (found === undefined) {
    found = new Names(['id', 'ttl', ...systemProperties, ...view.keyPaths.map(([first]) => first!)])
    names.set(view, found)
  }
  return found
}

export function parseItem(body: Buffer, view: ContainerView, options: { strict: boolean }): ItemBody {
  if (body.length > itemBytesMax) throw new RequestError('too_large', 'Request size is too large')
  const texts = new FoundTexts(body)
  const members = scanObject(body, namesIn(view))
  return readItemText(texts.textOf({ start: 0, end: body.length }), texts.objectOf(members), body.length, options)
}
