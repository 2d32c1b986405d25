import { processOutput, warningsTo } from '../../lib/cli/output.ts'
import { unexpectedAnswer } from '../../lib/mcp/client/failure.ts'
import { hostRequest, jsonBody } from '../../lib/mcp/client/host-request.ts'
import { defaultMcpClientLimits } from '../../lib/mcp/client/limits.ts'
import { isUnconfirmed, unconfirmedLine } from '../../lib/mcp/unconfirmed.ts'
import { isJsonObject } from '../../lib/util/json.ts'
import { userName } from '../../lib/util/posix.ts'
import { cleanText } from '../../lib/util/text.ts'
import { findHost, type HostFlags } from '../artefacts/host-target.ts'

/** Makes or removes a checkpoint, and prints its name. */
export async function runCheckpoint(
  name: string,
  flags: HostFlags & { remove: boolean },
  env: NodeJS.ProcessEnv,
): Promise<void> {
  const output = processOutput(flags)
  const { target } = await findHost(flags, env, warningsTo(output))
  const { signal } = new AbortController()
  const settings = { silenceMs: defaultMcpClientLimits.answerMs, signal }
  if (flags.remove) {
    const path = `v1/checkpoints/${encodeURIComponent(name)}`
    await hostRequest(target, { method: 'DELETE', path, ...settings })
    return output.result(`removed checkpoint "${name}"`, { name, removed_ok: true })
  }
  const made = jsonBody({ name, by: userName() })
  const path = 'v1/checkpoints'
  const { checkpoint } = await hostRequest(target, { method: 'POST', path, ...made, ...settings })
  if (!isJsonObject(checkpoint) || !isUnconfirmed(checkpoint)) {
    throw unexpectedAnswer(target.url, path)
  }
  const warning = unconfirmedLine(checkpoint)
  const words = [`checkpoint "${name}" made`, ...(warning === null ? [] : [warning])].join('; ')
  await output.result(cleanText(words, 300), checkpoint)
}
