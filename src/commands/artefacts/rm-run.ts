import { artefactUri } from '../../lib/mcp/uris.ts'
import { processOutput, warningsTo } from '../../lib/cli/output.ts'
import { parseArtefactWord, resolveArtefact } from '../../lib/mcp/client/artefact-download.ts'
import { hostRequest } from '../../lib/mcp/client/host-request.ts'
import { defaultMcpClientLimits } from '../../lib/mcp/client/limits.ts'
import { withSession } from '../resources/client.ts'
import { findHost, type FoundHost, type HostFlags } from './host-target.ts'

interface RmFlags extends HostFlags {
  'api-key-file'?: string
}

/** Removes artefacts from the running server. Resolves all arguments before removing anything. */
export async function runRm(
  words: string[],
  flags: RmFlags,
  env: NodeJS.ProcessEnv,
): Promise<void> {
  const output = processOutput(flags)
  const { answerMs: silenceMs } = defaultMcpClientLimits
  const found = await findHost(flags, env, warningsTo(output))
  const hexes = await resolveAll(words, found, { flags, env })
  const { signal } = new AbortController()
  for (const hex of new Set(hexes)) {
    const path = `v1/artefacts/${hex}`
    await hostRequest(found.target, { method: 'DELETE', path, silenceMs, signal })
    const uri = artefactUri(hex)
    await output.result(`removed ${uri}`, { removed_ok: true, uri, sha256: hex })
  }
}

/** Full hashes need no session, and so no API key. */
function resolveAll(
  words: string[],
  { mcpUrl }: FoundHost,
  { flags, env }: { flags: RmFlags; env: NodeJS.ProcessEnv },
): Promise<string[]> {
  const full = words.map(parseArtefactWord)
  if (full.every(hex => hex?.length === 64)) return Promise.resolve(full.map(String))
  const { instance: _, 'dcc-type': __, ...rest } = flags
  return withSession(
    { ...rest, url: mcpUrl, 'allow-http': false },
    env,
    async (session, _client, signal) => {
      const hexes: string[] = []
      for (const word of words) hexes.push(await resolveArtefact(word, async () => session, signal))
      return hexes
    },
  )
}
