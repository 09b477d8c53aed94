/** How vite makes dist/page from web/: the page that the server serves below /_explorer/. */

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

/**
 * uPlot makes a number format for the browser's language as soon as it is loaded. A browser that runs with
 * LANG=C.UTF-8 names the language `en-US@posix`, which Intl refuses. The page writes all numbers in one way.
 */
function nameLocaleOfCharts() {
  const asked = "domEnv ? nav.language : 'en-US'"
  return {
    name: 'name-locale-of-charts',
    transform(code, id) {
      if (!/uPlot[^\\/]*\.js$/.test(id)) return
      if (!code.includes(asked)) throw new Error('uPlot has changed: look at how it chooses a locale')
      return code.replace(asked, "'en-US'")
    },
  }
}

const config = defineConfig({
  root: fileURLToPath(new URL('.', import.meta.url)),
  base: '/_explorer/',
  logLevel: 'warn',
  plugins: [adoptStyleSheets(), nameLocaleOfCharts()],
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    target: 'es2022',
    outDir: fileURLToPath(new URL('../dist/page', import.meta.url)),
    emptyOutDir: true,
    // Nothing becomes a data: address, which the content security policy forbids.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // Those of the packages that are inside.
    license: { fileName: 'licenses.txt' },
  },
})

// biome-ignore lint/style/noDefaultExport: vite reads the default export.
export default config
