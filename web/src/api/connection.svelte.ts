/** Whether the leader answers. Pages keep what they have and say how old it is. */
class Connection {
  away = $state(false);
  since = $state(0);

  lost() {
    if (this.away) return;
    this.away = true;
    this.since = Date.now();
  }
  heard() {
    this.away = false;
  }
}

export const connection = new Connection();
