import { AdminCommand, userArg } from '../admin-command.ts'

export default class RegistryUsersEnable extends AdminCommand {
  static override summary = 'Enable an account'
  static override description = 'Logins and service tokens that ended do not come back.'
  static override examples = ['<%= config.bin %> registry users enable alice']
  static override args = userArg

  override async run(): Promise<void> {
    const { args, flags } = await this.parse(RegistryUsersEnable)
    await this.administer(flags, async (admin, output) => {
      const { id, username } = await admin.findUser(args.user)
      await admin.store.updateAccount(id, { disabledAtMs: null })
      await admin.record('account.enabled', id)
      await output.result('', { id, username, disabled: false })
      output.note(`the account "${username}" is enabled`)
    })
  }
}
