/** The logger of all layers. The command passes one that writes; tests and the library pass a silent one. */

export interface Logger {
  error(details: object, message: string): void
  warn(details: object, message: string): void
  info(details: object, message: string): void
  debug(details: object, message: string): void
}

export const silentLog: Logger = { error() {}, warn() {}, info() {}, debug() {} }
