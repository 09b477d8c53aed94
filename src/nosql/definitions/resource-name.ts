/**
 * Checks the ids of databases, containers and items.
 *
 * The two rules differ more than the documentation says: the service accepts every character in the id of an
 * item. A path finds the item if it escapes the id (azure-sdk-for-go, TestItemIdEncodingComputeGW). The
 * older gateway answers 401 to paths that escape `/`, `\`, `#` or a space at the end. Mayfly never does.
 */

import { invalidInputText, malformed } from './definition-input.ts'

/** The service's limit for the id of an item, in bytes of UTF-8. */
const itemIdBytesMax = 1023

/** The service's limit for the ids of databases and containers, in characters. */
const resourceIdCharsMax = 255

const forbiddenInResourceId = ['/', '\\', '?', '#']
const shownCharsMax = 64

export const missingIdText = "The input content is invalid because the required properties - 'id; ' - are missing"

/** Parses the id of a database or a container. */
export function parseResourceId(input: unknown): string {
  const id = readId(input)
  for (const character of forbiddenInResourceId) {
    if (id.includes(character)) malformed(`The resource name presented contains invalid character '${character}'.`)
  }
  if (id.endsWith(' ')) malformed("The resource name can't end with space.")
  if (id.length === 0 || id.length > resourceIdCharsMax) refuseLength(id, 255)
  return id
}

export function checkItemId(id: unknown): string {
  const text = readId(id)
  if (text.length === 0 || Buffer.byteLength(text) > itemIdBytesMax) refuseLength(text, 1024)
  return text
}

function readId(id: unknown): string {
  if (id === undefined || id === null) malformed(missingIdText)
  if (typeof id !== 'string') malformed(invalidInputText)
  // INFERRED. UTF-8 has no lone surrogates: two such ids could become equal when stored and read.
  if (!id.isWellFormed()) malformed(invalidInputText)
  return id
}

/** The text is the service's, which says "less than" although 255 itself is allowed. */
function refuseLength(id: string, statedMax: number): never {
  const shown = id.length <= shownCharsMax ? id : `${id.slice(0, shownCharsMax)}...`
  malformed(
    `The input name '${shown}' is invalid. Ensure to provide a unique non-empty string less than '${statedMax}' ` +
      'characters.',
  )
}
