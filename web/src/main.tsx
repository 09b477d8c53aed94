/** Starts the page: paints the shell, then asks the server. */

import { render } from 'preact'
import './theme/tokens.css'
import './theme/base.css'
import './theme/shell.css'
import './theme/controls.css'
import './theme/grid.css'
import './theme/code.css'
import './theme/cards.css'
import './theme/settings.css'
import './theme/overlays.css'
import './theme/items.css'
import './theme/query.css'
import './theme/responsive.css'
import { start } from './live/server-state.ts'
import { listenForDeaths } from './shell/said-deaths.ts'
import { Shell } from './shell/shell.tsx'

render(<Shell />, document.getElementById('page')!)
listenForDeaths()
void start()
