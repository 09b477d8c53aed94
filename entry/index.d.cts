// The types for `require`: those of the ES module.

export type * from '../dist/index.js' with { 'resolution-mode': 'import' }
export const mayfly: typeof import('../dist/index.js', { with: { 'resolution-mode': 'import' }}).mayfly
