"""What the tests of faults share: customers who remember what they were answered, and machines that fail."""
