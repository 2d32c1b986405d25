import { noteAction } from './note-action.ts'

/** Reopens a note. */
export default noteAction({
  action: 'reopen',
  summary: 'Reopen a note',
  description: 'Reopens a note that is answered, accepted or closed. The agent is told.',
  example: {
    description: 'with what is missing',
    command: '<%= config.bin %> notes reopen 3 "Still too bright"',
  },
  text: 'what is missing',
})
