import type { ServerIdentity } from '../identity.ts'
import { JsonText } from '../json-text.ts'
import { statelessRevisions } from './revisions.ts'

/** The answer to `server/discover`, made again when the instructions have changed. */
export function createDiscover(
  identity: ServerIdentity,
  resourcesEnabled: boolean,
  extraCapabilities: Readonly<Record<string, object>> = {},
): () => JsonText {
  let known: { readonly instructions: string; readonly text: JsonText } | null = null
  return () => {
    const { instructions } = identity
    if (known?.instructions !== instructions) {
      const text = discoverResult(instructions, resourcesEnabled, extraCapabilities)
      known = { instructions, text }
    }
    return known.text
  }
}

/** DiscoverResult, without what every result has. Only versions that need no handshake are named. */
function discoverResult(
  instructions: string,
  resourcesEnabled: boolean,
  extraCapabilities: Readonly<Record<string, object>>,
): JsonText {
  return JsonText.membersOf({
    supportedVersions: statelessRevisions,
    capabilities: {
      ...(resourcesEnabled
        ? { resources: { subscribe: true, listChanged: true }, completions: {} }
        : {}),
      ...extraCapabilities,
    },
    ...(resourcesEnabled ? { instructions } : {}),
  })
}
