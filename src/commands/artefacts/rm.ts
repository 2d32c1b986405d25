import * as Args from '@oclif/core/args'
import { BaseCommand } from '../../lib/cli/base-command.ts'
import { processOutput, warningsTo } from '../../lib/cli/output.ts'
import { hostRequest } from '../../lib/mcp/client/host-request.ts'
import { artefactUri } from '../../lib/mcp/artefact-uri.ts'
import { withServer } from '../resources/client.ts'
import { instanceFlags, keyFlag } from '../endpoint-flags.ts'
import { findArtefact, hashIn } from './find-artefact.ts'
import { findHost } from '../find-host.ts'

export default class ArtefactsRm extends BaseCommand {
  static override summary = 'Remove an artefact from the running server'
  static override description = `Removes an artefact from your running service-cli serve, by URI, by \
a unique name or by a unique start of its SHA-256. Instances that share an artefact folder share its artefacts, so \
the artefact disappears from all of them.

Environment: SERVICE_MCP_API_KEY (to look up a name or the start of a SHA-256), SERVICE_HOST_URL with \
SERVICE_HOST_TOKEN (instead of the running instance), SERVICE_REGISTRY_DIR.`
  static override examples = ['<%= config.bin %> artefacts rm 3fa1b2c4d5e6']

  static override args = {
    artefact: Args.string({
      description: 'a URI, a name, or at least 4 leading characters of the SHA-256',
      required: true,
      ignoreStdin: true,
    }),
  }

  static override flags = { ...instanceFlags, ...keyFlag }

  override async run(): Promise<void> {
    const { args, flags } = await this.parse(ArtefactsRm)
    const { artefact: word } = args
    const output = processOutput(flags)
    const target = await findHost(flags, warningsTo(output))
    const { instance: _, 'dcc-type': __, ...rest } = flags
    // A whole hash needs no API key.
    const hex =
      hashIn(word) ??
      (await withServer(
        { ...rest, url: new URL('/mcp', target.url).href, 'allow-http': false },
        server => findArtefact(word, server),
      ))
    await hostRequest(target, { method: 'DELETE', path: `v1/artefacts/${hex}` })
    const uri = artefactUri(hex)
    await output.result(`removed ${uri}`, { removed_ok: true, uri, sha256: hex })
  }
}
