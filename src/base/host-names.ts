/**
 * The names by which clients may call the server.
 *
 * The owner of a web page can let the page's own name point to this machine (DNS rebinding). The browser
 * then takes this server for the server of that page, and the well-known key does not protect it. But the
 * browser sends the page's name as Host, and the page's address as Origin.
 */

import { isIP } from 'node:net'
import { RequestError } from './error.ts'

const localNames = ['localhost', '127.0.0.1', '[::1]', 'host.docker.internal']

/** Allows every name: for a server behind a proxy that checks names itself. */
const anyName = '*'

export class HostNames {
  readonly #names: ReadonlySet<string>
  readonly #allowsAddresses: boolean
  /** The last Host that was accepted. Clients nearly always send the same. */
  #lastAccepted: string | undefined

  /** `host` is the address that the server listens on, `allowed` the names that the user added. */
  constructor(host: string, allowed: readonly string[]) {
    this.#names = new Set([...localNames, host, ...allowed].map(name => name.toLowerCase()))
    // If the server listens on all addresses, each of them may be used. An address cannot be rebound.
    this.#allowsAddresses = host === '0.0.0.0' || host === '::'
  }

  /** Throws if a client used another name, or if a page of another origin sent the request. */
  check(host: string | undefined, origin: string | undefined): void {
    this.checkName(host)
    checkOrigin(host, origin)
  }

  checkName(host = ''): void {
    if (host === this.#lastAccepted) return
    const name = host.toLowerCase().replace(/:\d+$/, '')
    const isAllowed = this.#names.has(name) || this.#names.has(anyName) || (this.#allowsAddresses && isAddress(name))
    if (!isAllowed) {
      throw new RequestError(
        'forbidden',
        `This server does not answer to the name '${name.slice(0, 64)}'. To allow a name, start the server with ` +
          '--allowed-hosts.',
      )
    }
    this.#lastAccepted = host
  }
}

export function checkOrigin(host: string | undefined, origin: string | undefined): void {
  if (origin === undefined || origin.toLowerCase().replace(/^https?:\/\//, '') === host?.toLowerCase()) return
  throw new RequestError('forbidden', 'Requests from other origins are refused.')
}

function isAddress(name: string): boolean {
  return isIP(name.replace(/^\[(.*)\]$/, '$1')) !== 0
}

/** Checks the address of a socket. Headers of a proxy do not count. */
export function isLoopback(address: string | undefined): boolean {
  return address !== undefined && /^(127\.|::1$|::ffff:127\.)/.test(address)
}
