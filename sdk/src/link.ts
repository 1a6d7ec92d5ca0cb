/** Something that works while there is a session. */
export interface Linked {
  /** a session began: look for work */
  wakeUp(): void;
  /** the session ended: stop timers */
  rest(): void;
}

/** Whether there is a session, and who wants to know. */
export const createLink = () => {
  const members = new Set<Linked>();
  let online = false;
  return {
    isOnline: () => online,
    /** Joins; the returned function leaves. */
    join(member: Linked): () => void {
      members.add(member);
      return () => {
        members.delete(member);
        member.rest();
      };
    },
    turn(on: boolean): void {
      online = on;
      for (const member of [...members]) {
        if (on) member.wakeUp();
        else member.rest();
      }
    },
  };
};

export type Link = ReturnType<typeof createLink>;
