/** Files that are embedded in the single executable. Without it, they lie in Mayfly's folder. */

import sea from 'node:sea'

export const isExecutable = sea.isSea()

/** The executable's own memory, which must not be written to. undefined: this is not the executable. */
export function embeddedBytes(name: string): ArrayBuffer | undefined {
  return isExecutable ? (sea.getRawAsset(name) as ArrayBuffer) : undefined
}

export function embeddedText(name: string): string | undefined {
  return isExecutable ? sea.getAsset(name, 'utf8') : undefined
}

export function embeddedNames(prefix: string): string[] {
  return sea.getAssetKeys().filter(name => name.startsWith(prefix))
}
