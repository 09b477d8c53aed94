/**
 * Files that the single executable carries inside. Run by Node, Mayfly carries none: they lie in its folder.
 */

import sea from 'node:sea'

export const isExecutable = sea.isSea()

/** Memory of the executable itself: a write to it ends the process. undefined: this is not the executable. */
export function embeddedBytes(name: string): ArrayBuffer | undefined {
  return isExecutable ? (sea.getRawAsset(name) as ArrayBuffer) : undefined
}

export function embeddedText(name: string): string | undefined {
  return isExecutable ? sea.getAsset(name, 'utf8') : undefined
}

export function embeddedNames(prefix: string): string[] {
  return sea.getAssetKeys().filter(name => name.startsWith(prefix))
}
