/** How vite makes dist/explorer from web/: the page that the server serves below /_explorer/. */

import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vite'

/**
 * CodeMirror puts its styles into a style element, which the page's content security policy forbids. Its
 * style module can also adopt a style sheet made by script, which the policy allows, but does so only inside
 * a shadow root. This lets it do so in the document.
 */
function adoptStyleSheets() {
  const guard = '!root.head && root.adoptedStyleSheets'
  return {
    name: 'adopt-style-sheets',
    transform(code, id) {
      if (!/style-mod[\\/]/.test(id)) return
      if (!code.includes(guard)) throw new Error('style-mod has changed: look at how it chooses a style sheet')
      return code.replace(guard, 'root.adoptedStyleSheets')
    },
  }
}

const config = defineConfig({
  root: fileURLToPath(new URL('.', import.meta.url)),
  base: '/_explorer/',
  logLevel: 'warn',
  plugins: [adoptStyleSheets()],
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    target: 'es2022',
    outDir: fileURLToPath(new URL('../dist/explorer', import.meta.url)),
    emptyOutDir: true,
    // Nothing becomes a data: address, which the content security policy forbids.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
})

// biome-ignore lint/style/noDefaultExport: vite reads the default export.
export default config
