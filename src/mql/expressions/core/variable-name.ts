/** Checks names of variables: users' names begin in lower case, system names in upper case. */

import { refuse } from './define-operator.ts'

const failedToParse = 9
const isLetter = /^[A-Za-z\u0080-\u{10ffff}]/u
const isUserLetter = /^[a-z\u0080-\u{10ffff}]/u
const noWord = /[^A-Za-z0-9_\u0080-\u{10ffff}]/u

function check(name: string, first: RegExp): void {
  if (name === '') refuse(failedToParse, 'empty variable names are not allowed')
  if (!first.test(name)) refuse(failedToParse, `'${name}' starts with an invalid character for a user variable name`)
  const [character] = noWord.exec(name) ?? []
  if (character !== undefined) {
    refuse(failedToParse, `'${name}' contains an invalid character for a variable name: '${character}'`)
  }
}

/** Checks the name of a variable that is defined. Of the system variables only `CURRENT` may be redefined. */
export function checkVariableName(name: string): void {
  if (name !== 'CURRENT') check(name, isUserLetter)
}

/** Checks the name of a variable that is used. */
export function checkVariableUse(name: string): void {
  check(name, isLetter)
}
