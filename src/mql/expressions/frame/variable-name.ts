/** Which names variables may have: those of users begin in lower case, those of the system in upper case. */

import { refuse } from './define.ts'

const failedToParse = 9
const isLetter = /^[A-Za-z\u0080-\u{10ffff}]/u
const isUserLetter = /^[a-z\u0080-\u{10ffff}]/u
const isWord = /^[A-Za-z0-9_\u0080-\u{10ffff}]/u

function check(name: string, first: RegExp): void {
  if (name === '') refuse(failedToParse, 'empty variable names are not allowed')
  if (!first.test(name)) refuse(failedToParse, `'${name}' starts with an invalid character for a user variable name`)
  for (const character of name) {
    if (isWord.test(character)) continue
    refuse(failedToParse, `'${name}' contains an invalid character for a variable name: '${character}'`)
  }
}

/** A variable that somebody defines. Of the system's only `CURRENT` can be changed. */
export function checkVariableName(name: string): void {
  if (name !== 'CURRENT') check(name, isUserLetter)
}

/** A variable that somebody uses. */
export function checkVariableUse(name: string): void {
  check(name, isLetter)
}
