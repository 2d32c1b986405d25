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

/** Removes an artefact from the running server. */
export async function runRm(word: string, flags: RmFlags, env: NodeJS.ProcessEnv): Promise<void> {
  const output = processOutput(flags)
  const { answerMs: silenceMs } = defaultMcpClientLimits
  const found = await findHost(flags, env, warningsTo(output))
  const hex = await hexOf(word, found, { flags, env })
  const path = `v1/artefacts/${hex}`
  const { signal } = new AbortController()
  await hostRequest(found.target, { method: 'DELETE', path, silenceMs, signal })
  const uri = artefactUri(hex)
  await output.result(`removed ${uri}`, { removed_ok: true, uri, sha256: hex })
}

/** A full hash needs no session, and so no API key. */
async function hexOf(
  word: string,
  { mcpUrl }: FoundHost,
  { flags, env }: { flags: RmFlags; env: NodeJS.ProcessEnv },
): Promise<string> {
  const full = parseArtefactWord(word)
  if (full?.length === 64) return full
  const { instance: _, 'dcc-type': __, ...rest } = flags
  return withSession(
    { ...rest, url: mcpUrl, 'allow-http': false },
    env,
    (session, _client, signal) => resolveArtefact(word, async () => session, signal),
  )
}
