/**
 * Reads the files with keys, the certificate and the settings for Entra ID again, while the server runs.
 *
 * A file that cannot be used changes nothing, nor do the files after it.
 */

import { readFileSync } from 'node:fs'
import type { AccountKeys } from '../base/account-keys.ts'
import { RequestError } from '../base/error.ts'
import type { Logger } from '../base/log.ts'
import { type EntraSettings, parseEntraSettings } from '../nosql/access/entra-settings.ts'
import type { EntraTokens } from '../nosql/access/entra-tokens.ts'
import { type Config, checkExposure, readKeyFile } from './config.ts'
import type { Listener } from './listener.ts'
import type { Certificate } from './tls/certificate.ts'

export interface ReloadParts {
  readonly keys: AccountKeys
  readonly entra: EntraTokens
  readonly certificate: () => Promise<Certificate>
  /** The listeners that are open; the list may grow. */
  readonly listeners: readonly Listener[]
  readonly log: Logger
}

export class FileReload {
  readonly #config: Config
  readonly #parts: ReloadParts

  constructor(config: Config, parts: ReloadParts) {
    this.#config = config
    this.#parts = parts
  }

  /** A key that is no longer in the file is refused from now on. */
  readonly keys = (): void => {
    const { keys, log } = this.#parts
    const { keyFile } = this.#config
    if (keyFile === undefined) {
      throw new RequestError('precondition_failed', 'The keys can be changed only if they are in a file: --key-file.')
    }
    const found = readKeyFile(keyFile)
    checkExposure(this.#config, found)
    keys.replace(found)
    log.info({ keys: found.length, readOnly: found.filter(({ isReadOnly }) => isReadOnly).length }, 'new account keys')
  }

  readonly all = async (): Promise<void> => {
    const { entra, certificate, listeners, log } = this.#parts
    const { keyFile, entraFile, tls } = this.#config
    if (keyFile !== undefined) this.keys()
    if (entraFile !== undefined) {
      entra.replace(entraSettings(this.#config))
      log.info({ file: entraFile }, 'new settings for Entra ID tokens')
    }
    if (tls === undefined) return
    await certificate()
    for (const listener of listeners) listener.renewCertificate()
    log.info({ file: tls.certificate }, 'new connections get the certificate as it is now')
  }
}

export function entraSettings({ entraFile }: Config): EntraSettings | undefined {
  if (entraFile === undefined) return undefined
  let text: string
  try {
    text = readFileSync(entraFile, 'utf8')
  } catch (error) {
    throw new RequestError('malformed', `The file ${entraFile} cannot be read (--entra).`, { cause: error })
  }
  return parseEntraSettings(text, entraFile)
}
