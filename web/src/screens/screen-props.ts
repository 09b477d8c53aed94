/** What a screen gets: the container as the tree shows it now, and where the page is. */

import type { Container } from '../api/shapes.ts'
import type { ContainerRoute } from '../navigation/routes.ts'

export interface ScreenProps {
  route: ContainerRoute
  container: Container
}
