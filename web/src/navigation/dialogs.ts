/** The open dialog: any component may open one, and the shell shows it. */

import { signal } from '@preact/signals'
import type { JSX } from 'preact'

export type RenderDialog = (close: () => void) => JSX.Element

export const openDialog = signal<{ render: RenderDialog; id: number } | undefined>(undefined)
let lastId = 0

/** Shows a dialog in the place of the one that is open. */
export function showDialog(render: RenderDialog): void {
  openDialog.value = { render, id: ++lastId }
}

export function closeDialog(): void {
  openDialog.value = undefined
}
