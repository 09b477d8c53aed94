/** Size and scripts of the container that is shown, loaded again while items change. */

import { signal } from '@preact/signals'
import type { ContainerDetails } from '../api/shapes.ts'

export const containerDetails = signal<ContainerDetails | undefined>(undefined)
