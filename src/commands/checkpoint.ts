import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '../lib/cli/base-command.ts'
import { hostEnvironment, instanceFlags } from './endpoint-flags.ts'
import { processOutput, warningsTo } from '../lib/cli/output.ts'
import { unexpectedAnswer } from '../lib/mcp/client/failure.ts'
import { hostRequest } from '../lib/mcp/client/host-request.ts'
import { unconfirmedLine } from '../lib/mcp/unconfirmed.ts'
import { usage } from '../lib/util/errors.ts'
import { isJsonObject } from '../lib/util/json.ts'
import { userName } from '../lib/util/posix.ts'
import { cleanText } from '../lib/util/text.ts'
import { findHost } from './find-host.ts'

export default class Checkpoint extends BaseCommand {
  static override summary = 'Keep the scene as it is now under a name'
  static override description = `Keeps the scene of the open document under a name, so \
that scene://delta?since=NAME tells what changed since then, also after a restart. It keeps what \
clients can read of the scene, not the document itself: nothing can be restored from it. A \
document has at most 64. \`resources read scene://checkpoints\` lists them.

${hostEnvironment}`
  static override examples = [
    '<%= config.bin %> checkpoint before-lights',
    '<%= config.bin %> resources read "scene://delta?since=before-lights"',
  ]

  static override args = {
    name: Args.string({
      description: 'up to 64 letters, digits, spaces, ".", "_", "-", with at least one letter',
      required: true,
      ignoreStdin: true,
    }),
  }

  static override flags = {
    remove: Flags.boolean({ description: 'remove the checkpoint of this name' }),
    ...instanceFlags,
  }

  override async run(): Promise<void> {
    const { args, flags } = await this.parse(Checkpoint)
    const { name } = args
    if (name === 'list' && flags.remove !== true) {
      throw usage(
        '"list" is no name for a checkpoint',
        'service-cli resources read scene://checkpoints lists them',
      )
    }
    const output = processOutput(flags)
    const target = await findHost(flags, warningsTo(output))
    if (flags.remove) {
      const path = `v1/checkpoints/${encodeURIComponent(name)}`
      await hostRequest(target, { method: 'DELETE', path })
      return output.result(`removed checkpoint "${name}"`, { name, removed_ok: true })
    }
    const path = 'v1/checkpoints'
    const body = { name, by: userName() }
    const { checkpoint } = await hostRequest(target, { method: 'POST', path, body })
    if (!isJsonObject(checkpoint)) throw unexpectedAnswer(target.url, path)
    const warning = unconfirmedLine(checkpoint)
    const words = [`checkpoint "${name}" made`, ...(warning === null ? [] : [warning])].join('; ')
    await output.result(cleanText(words, 300), checkpoint)
  }
}
