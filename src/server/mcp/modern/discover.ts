import type { ServerIdentity } from '../identity.ts'
import { JsonText } from '../json-text.ts'
import { statelessRevisions } from './revisions.ts'

/** DiscoverResult, without what every result has. Only versions that need no handshake are named. */
export function discoverResult(
  { instructions }: ServerIdentity,
  resourcesEnabled: boolean,
  extraCapabilities: Readonly<Record<string, object>> = {},
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
