import { AdminCommand, administer } from './admin-command.ts'

/** Makes an invitation for one new account. */
export default class RegistryInvite extends AdminCommand {
  static override summary = 'Create an invitation for one new account'

  static override description = `Prints the code alone on stdout. \`service-cli register\` \
prompts for it when registration needs an invitation. The code is valid once, for 7 days.`

  static override examples = [
    { description: 'for a new user', command: '<%= config.bin %> registry invite' },
  ]

  override async run(): Promise<void> {
    const { flags } = await this.parse(RegistryInvite)
    await administer(flags, async ({ admin, operations, output }) => {
      const { code, ...made } = await operations.makeInvite(admin)
      output.note(`invitation, valid once until ${made.expires_at}; it is not shown again`)
      output.note('give it to the new user: service-cli register asks for it')
      const json = { ...made, code: code.reveal() }
      await output.secret(code.reveal(), json)
    })
  }
}
