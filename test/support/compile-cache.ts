/**
 * Loaded by `npm test` before all: every process of the tests keeps what it has compiled for the next one.
 * Most test files load the whole server, in a process of their own.
 */

import { join } from 'node:path'

process.env.NODE_COMPILE_CACHE ??= join(import.meta.dirname, '../../node_modules/.cache/compiled')
