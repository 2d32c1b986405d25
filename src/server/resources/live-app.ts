import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { type SchemeProducer, builtIn, textContents } from './scheme-producer.ts'
import { ResourceNotFound } from './errors.ts'
import type { Content, Descriptor } from './producer.ts'

export const liveAppUri = 'ui://service-cli/live'

/** Where the build puts it: one HTML text with its script and its styles. */
const file = fileURLToPath(new URL('../../page/live-app.html', import.meta.url))

/** MCP Apps, revision 2026-01-26. */
const mimeType = 'text/html;profile=mcp-app'
/** An empty policy: the view may load nothing and connect to nothing. */
const meta = Object.freeze({ ui: Object.freeze({ csp: Object.freeze({}), prefersBorder: true }) })

const descriptors: readonly Descriptor[] = builtIn([
  {
    uri: liveAppUri,
    name: 'Live view',
    description:
      'For chat clients that show MCP Apps: the picture of the application, what just changed, and ' +
      'the notes of people. Of no use to a model',
    mimeType,
    annotations: { audience: ['user'], priority: 0.1 },
    _meta: meta,
  },
])

/** `ui://service-cli/live`: the live page as an MCP App. */
export function liveAppProducer(): SchemeProducer {
  let contents: readonly Content[] | undefined
  return {
    list: () => descriptors,
    // It changes with the version of the program alone.
    pushes: () => false,
    async read({ text: uri }) {
      if (uri !== liveAppUri) throw new ResourceNotFound(uri)
      contents ??= textContents(liveAppUri, mimeType, await readFile(file, 'utf8'), meta)
      return contents
    },
  }
}
