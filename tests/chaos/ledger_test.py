"""What the ledger says that a key may hold."""

import unittest

from ledger import DELETED, Ledger


class LedgerTest(unittest.TestCase):

    def setUp(self):
        self.ledger = Ledger()

    def begin(self, value, replica=0):
        return self.ledger.begin("key", replica, value)

    def acknowledge(self, write, replica=0):
        self.ledger.acknowledge("key", replica, write)

    def expect(self, *values):
        self.assertEqual(self.ledger.possible("key"), set(values))

    def test_the_last_acknowledged_write_wins(self):
        for value in ("a", "b", DELETED):
            self.acknowledge(self.begin(value))
            self.expect(value)

    def test_of_two_at_once_either_may_be_the_last(self):
        first, second = self.begin("a"), self.begin("b")
        self.acknowledge(first)
        self.expect("a", "b")
        self.acknowledge(second)
        self.expect("a", "b")
        self.acknowledge(self.begin("c"))
        self.expect("c")

    def test_without_an_answer_it_was_done_or_not(self):
        self.acknowledge(self.begin("a"))
        self.ledger.give_up(self.begin("b"))
        self.expect("a", "b")
        self.acknowledge(self.begin("c"))
        self.expect("c")

    def test_one_that_did_nothing_is_forgotten(self):
        self.acknowledge(self.begin("a"))
        self.ledger.without_effect("key", 0, self.begin(DELETED))
        self.expect("a")

    def test_one_winner_for_each_replica(self):
        write = self.begin("a")
        self.expect("a", DELETED)
        self.acknowledge(write)
        self.acknowledge(self.begin("b", 1), 1)
        self.expect("a", "b")
        self.ledger.hand_over(["key"], 0, 1)
        self.expect("a")
        self.assertIn("is lost", self.ledger.complaint("key", "b"))


if __name__ == "__main__":
    unittest.main()
