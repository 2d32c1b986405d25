import * as Flags from '@oclif/core/flags'
import { join } from 'node:path'
import { AdminCommand, readDataFlags } from './admin-command.ts'

export default class RegistryRotateKey extends AdminCommand {
  static override summary = 'Publish the next signing key, or sign with it'
  static override description = `Adds the next key to signing-keys.json; --activate signs with it. With \
several servers, copy that file to each of them after each of the two steps.`
  static override examples = ['<%= config.bin %> registry rotate-key --activate']

  static override flags = {
    activate: Flags.boolean({ description: 'sign with the next key from now on' }),
  }

  override async run(): Promise<void> {
    const { flags } = await this.parse(RegistryRotateKey)
    await this.administer(flags, async (admin, output) => {
      const { SigningKeys } = await import('../../server/accounts/signing-keys.ts')
      const file = join(readDataFlags(flags, process.env).dataDir, 'signing-keys.json')
      const keys = await SigningKeys.open(file, { create: false })
      const kid = await (flags.activate ? keys.activate() : keys.rotate())
      const state = flags.activate ? 'signing' : 'next'
      await admin.record('keys.rotated', null, { kid, state })
      await output.result('', { kid, state, file })
      const now = flags.activate ? 'signs now' : 'is published; rotate-key --activate signs with it'
      output.note(`the key ${kid} ${now}`)
      output.note(`copy ${file} to the other servers, if there are any`)
    })
  }
}
