import { noteAction } from './note-action.ts'

/** Answers a note. */
export default noteAction({
  action: 'answer',
  summary: 'Answer a note',
  description: `Answers a note of the document that is open in the application. The person \
who made it accepts the answer or reopens the note.`,
  example: {
    description: 'an answer',
    command: '<%= config.bin %> notes answer 3 "The lamp is dimmed to 40 W"',
  },
  text: 'what was done, or a question',
  isTextRequired: true,
})
