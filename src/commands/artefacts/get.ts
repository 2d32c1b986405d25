import { BaseCommand } from '../../lib/cli/base-command.ts'
export default class Artefactsget extends BaseCommand {
  override async run(): Promise<void> {}
}
