/** Size and scripts of the container that is shown: asked once for each visit, and again after a change. */

import { signal } from '@preact/signals'
import type { ContainerDetails } from '../api/shapes.ts'

export const containerDetails = signal<ContainerDetails | undefined>(undefined)
