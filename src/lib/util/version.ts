import { readFileSync } from 'node:fs'

const manifest: { version: string } = JSON.parse(
  readFileSync(new URL('../../../package.json', import.meta.url), 'utf8'),
)

/** The version of this package. */
export const version: string = manifest.version

/** User-Agent of the commands: lets a server tell its user's own requests from clients. */
export const userAgent = `service-cli/${version}`
