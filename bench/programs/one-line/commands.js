import { Command } from '@oclif/core'

class Line extends Command {
  async run() {
    this.log('one line')
  }
}

export const COMMANDS = { line: Line }
