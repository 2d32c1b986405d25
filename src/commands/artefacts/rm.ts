import * as Args from '@oclif/core/args'
import { BaseCommand } from '../../lib/cli/base-command.ts'
import { keyedInstanceFlags } from '../resources/endpoint-flags.ts'
import { artefactUri } from '../../lib/mcp/uris.ts'
import { processOutput, warningsTo } from '../../lib/cli/output.ts'
import { parseArtefactWord, resolveArtefact } from '../../lib/mcp/client/artefact-download.ts'
import { hostRequest } from '../../lib/mcp/client/host-request.ts'
import { defaultMcpClientLimits } from '../../lib/mcp/client/limits.ts'
import { withSession } from '../resources/client.ts'
import { findHost, type FoundHost, type HostFlags } from './host-target.ts'

/** Removes an artefact. */
export default class ArtefactsRm extends BaseCommand {
  static override summary = 'Remove an artefact from the running server'

  static override description = `Removes an artefact from your running service-cli serve, by URI, by \
SHA-256 or by a unique start of it. Instances that share an artefact folder share its artefacts, so \
the artefact disappears from all of them.

Environment: SERVICE_MCP_API_KEY (to look up the start of a SHA-256), SERVICE_HOST_URL with \
SERVICE_HOST_TOKEN (instead of the running instance), SERVICE_REGISTRY_DIR.`

  static override examples = [
    {
      description: 'by the start of its SHA-256',
      command: '<%= config.bin %> artefacts rm 3fa1b2c4d5e6',
    },
  ]

  static override args = {
    artefact: Args.string({
      description: 'URI, or at least 4 leading characters of the SHA-256',
      required: true,
      ignoreStdin: true,
    }),
  }

  static override flags = keyedInstanceFlags

  override async run(): Promise<void> {
    const { args, flags } = await this.parse(ArtefactsRm)
    await runRm(args.artefact, flags, process.env)
  }
}

interface RmFlags extends HostFlags {
  'api-key-file'?: string
}

/** Removes an artefact from the running server. */
async function runRm(word: string, flags: RmFlags, env: NodeJS.ProcessEnv): Promise<void> {
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
