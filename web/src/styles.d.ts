/** Style sheets are imported for their effect; vite puts them into the page. */

declare module '*.css'
