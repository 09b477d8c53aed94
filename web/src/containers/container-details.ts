/** Size and scripts of the container that is shown: asked again while items come and go. */

import { signal } from '@preact/signals'
import type { ContainerDetails } from '../api/shapes.ts'

export const containerDetails = signal<ContainerDetails | undefined>(undefined)
