/** The version of this package, from its own package.json. */

import { readFileSync } from 'node:fs'
import { embeddedText } from '../base/embedded.ts'

const description = embeddedText('package.json') ?? readFileSync(new URL('../../package.json', import.meta.url), 'utf8')

export const version: string = JSON.parse(description).version
